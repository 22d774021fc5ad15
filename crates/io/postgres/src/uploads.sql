-- Blobs that are brought bit by bit. An upload has a number of the blobs, and its chunks lie under it; `blob` is what it
-- became, which stays until the upload ends.
CREATE TABLE uploads (
    id bigint PRIMARY KEY,
    began bigint NOT NULL,
    blob bigint
);
CREATE INDEX uploads_blob ON uploads (blob) WHERE blob IS NOT NULL;
