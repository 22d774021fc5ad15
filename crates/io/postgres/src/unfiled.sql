-- Version 17: threads wait until many are filed together. New ones have no terms before that; those that changed keep
-- theirs in the minute under which they were filed.
DROP TRIGGER move_terms ON threads;
DROP FUNCTION move_terms();
DROP FUNCTION day(bigint);
-- The threads that wait.
DROP INDEX threads_moved;
CREATE INDEX threads_moved ON threads (account, archived, minute, filed) WHERE minute <> filed;
