-- Version 15: blobs whose content is an object outside the database, under the number of the blob.

ALTER TABLE blobs ADD COLUMN elsewhere boolean NOT NULL DEFAULT false;
