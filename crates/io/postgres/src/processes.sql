-- Version 13: leases of processes, by the clock of the server.

CREATE TABLE processes (
    id text PRIMARY KEY,
    until bigint NOT NULL
);
