-- Version 9: the threads that a commit under an idempotency key created.

ALTER TABLE idempotency ADD COLUMN made bytea;
