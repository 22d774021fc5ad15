-- Version 18: when a thread changed last, as far as its row tells: the time of its birth, until it changes. A time that does
-- not lie in `minute` tells nothing, so a change in another minute need not touch it. Lists read the threads of a minute in
-- this order, and sort only those that changed since. A server of an older version does not take it back when a thread
-- changes in the minute of its birth, so threads of the last hour get none.
ALTER TABLE threads ADD COLUMN moment bigint NOT NULL DEFAULT 0;
UPDATE threads t SET moment = h.updated FROM heads h
WHERE h.thread = t.id AND h.updated < ((extract(epoch FROM clock_timestamp()) - 3600) * 1000000)::bigint;
DROP INDEX threads_recent;
CREATE INDEX threads_recent ON threads (account, archived, minute, moment, id);
DROP INDEX threads_moved;
CREATE INDEX threads_moved ON threads (account, archived, minute, moment, id, filed) WHERE minute <> filed;
