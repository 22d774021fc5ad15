-- Whether the account of a thread is frozen. It is a function so that a statement has to prepare nothing for it while no
-- account is.
CREATE OR REPLACE FUNCTION is_frozen(of_thread bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM threads t JOIN frozen f ON f.account = t.account WHERE t.id = of_thread);
END
$$;

-- Takes a thread out of everything but the log.
CREATE OR REPLACE FUNCTION take_out(gone bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM threads WHERE id = gone;
    DELETE FROM heads WHERE thread = gone;
    DELETE FROM relations WHERE parent = gone;
    DELETE FROM relations WHERE child = gone;
    DELETE FROM checkpoints WHERE thread = gone;
    DELETE FROM items WHERE thread = gone;
    DELETE FROM idempotency WHERE thread = gone;
END
$$;

-- The same, and leaves a tombstone.
CREATE OR REPLACE FUNCTION bury(gone bigint, gone_rest bytea, at bigint, n integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM take_out(gone);
    INSERT INTO tombstones VALUES (gone, gone_rest, at, feed_start() + n);
END
$$;
