-- Version 16: accounts that must not be written here, each with a note.
--
-- Every write reads this table, and so holds a lock on it, from before it looks until it ends. A freeze locks the table for
-- itself: it waits for the writes under way, and later ones look after it.

CREATE TABLE frozen (
    account text COLLATE "C" PRIMARY KEY,
    note text NOT NULL
);
