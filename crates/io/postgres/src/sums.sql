-- Version 10: checksums. Rows of earlier versions have none. The function that appends is made anew, with a checksum for
-- each entry.
ALTER TABLE entries ADD COLUMN sum bigint;
ALTER TABLE blob_chunks ADD COLUMN sum bigint;
DROP FUNCTION IF EXISTS append;
