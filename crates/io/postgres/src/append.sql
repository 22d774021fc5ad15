-- Plain appends, each a commit of its own: lock the threads, check, write. The arrays that begin with e hold the
-- entries of all commits, one after the other, e_count of them for each.
--
-- With `waits` all commits are to one thread, and wait for it. Without, commits whose thread somebody else holds are
-- left out. `upkeep` is the lock of which everybody who writes has a share. `lease_now` is the time by which leases
-- are judged; the server's own if it is null.
--
-- One row a commit, in order. status: 0 written, 1 written before under the same key, 2 left out, 3 no such thread,
-- 4 another version, 5 another era, 6 somebody else is the writer, 7 the lease has ended, 8 key used for something else,
-- 9 the account of the thread is frozen: lease_holder has the account and the note of the fence, on a line each.
CREATE OR REPLACE FUNCTION append(
    waits boolean, lease_now bigint, upkeep bigint, lock_keys bigint[],
    c_thread bigint[], c_rest bytea[], c_era bigint[], c_version bigint[], c_lease bigint[], c_time bigint[],
    c_actor bigint[], c_cause text[], c_account text[], c_key text[], c_hash bytea[], c_count integer[],
    e_kind smallint[], e_format smallint[], e_body bytea[], e_role smallint[], e_silent boolean[], e_depth smallint[], e_sum bigint[]
) RETURNS TABLE (status smallint, at_segment bigint, at_first bigint, at_count bigint, at_time bigint, head heads)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    locked boolean[];
    now_micros bigint := lease_now;
    feed_at bigint;
    e integer := 0;
    h heads%ROWTYPE;
    earlier record;
    is_held boolean;
    is_any_frozen boolean;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(upkeep);
    IF waits THEN
        PERFORM pg_advisory_xact_lock(lock_keys[1]);
    ELSE
        FOR i IN 1 .. cardinality(lock_keys) LOOP
            locked[i] := pg_try_advisory_xact_lock(lock_keys[i]);
        END LOOP;
    END IF;
    IF now_micros IS NULL THEN
        now_micros := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    END IF;
    is_any_frozen := EXISTS (SELECT FROM frozen);
    FOR i IN 1 .. cardinality(lock_keys) LOOP
        at_segment := NULL; at_first := NULL; at_count := NULL; at_time := NULL; head := NULL;
        e := e + c_count[i];
        IF NOT waits AND NOT locked[i] THEN
            status := 2; RETURN NEXT; CONTINUE;
        END IF;
        SELECT * INTO h FROM heads WHERE thread = c_thread[i] AND rest = c_rest[i];
        IF NOT FOUND THEN
            status := 3; RETURN NEXT; CONTINUE;
        END IF;
        head := h;
        IF c_key[i] IS NOT NULL THEN
            SELECT hash, segment, first, count, time INTO earlier FROM idempotency
            WHERE thread = c_thread[i] AND account = c_account[i] AND key = c_key[i]
              AND time >= c_time[i] - 86400000000;
            IF FOUND THEN
                at_segment := earlier.segment; at_first := earlier.first;
                at_count := earlier.count; at_time := earlier.time;
                status := CASE WHEN earlier.hash = c_hash[i] THEN 1 ELSE 8 END;
                RETURN NEXT; CONTINUE;
            END IF;
        END IF;
        IF is_any_frozen AND is_frozen(c_thread[i]) THEN
            SELECT f.account || E'\n' || f.note INTO head.lease_holder
            FROM threads t JOIN frozen f ON f.account = t.account WHERE t.id = c_thread[i];
            status := 9; RETURN NEXT; CONTINUE;
        END IF;
        is_held := h.lease_until > now_micros;
        IF c_lease[i] IS NOT NULL THEN
            IF NOT is_held OR h.lease_token <> c_lease[i] THEN
                IF NOT is_held THEN
                    head.lease_holder := NULL;
                END IF;
                status := 7; RETURN NEXT; CONTINUE;
            END IF;
        ELSIF is_held THEN
            status := 6; RETURN NEXT; CONTINUE;
        END IF;
        IF c_version[i] <> h.version THEN
            status := 4; RETURN NEXT; CONTINUE;
        END IF;
        IF c_era[i] <> h.era THEN
            status := 5; RETURN NEXT; CONTINUE;
        END IF;

        IF feed_at IS NULL THEN
            feed_at := feed_start();
        END IF;
        h.updated := greatest(h.updated, c_time[i]);
        at_segment := h.segment; at_first := h.version + 1; at_count := c_count[i]; at_time := h.updated;
        FOR j IN e - c_count[i] + 1 .. e LOOP
            h.version := h.version + 1;
            feed_at := feed_at + 1;
            IF e_role[j] IS NOT NULL THEN
                h.ordinals := h.ordinals + 1;
                h.bytes := h.bytes + length(e_body[j]);
                IF e_role[j] = {user} THEN
                    h.last_user := h.updated;
                ELSIF e_role[j] = {assistant} THEN
                    h.steps := h.steps + 1;
                END IF;
            END IF;
            INSERT INTO entries VALUES (
                feed_at, h.segment, h.version, h.updated, c_actor[i], h.ordinals, h.inserted, h.deleted, h.last_change,
                h.steps, h.bytes, h.last_user, e_kind[j], e_format[j], e_role[j], e_depth[j], e_silent[j], c_cause[i],
                e_body[j], NULL, h.last_state, h.work, e_sum[j] # h.segment # h.version # (h.updated << 12));
        END LOOP;
        UPDATE heads SET version = h.version, updated = h.updated, ordinals = h.ordinals, steps = h.steps,
            bytes = h.bytes, last_user = h.last_user
        WHERE thread = h.thread;
        UPDATE threads SET minute = h.updated / 60000000, moment = 0
        WHERE id = h.thread AND (minute <> h.updated / 60000000 OR moment >= minute * 60000000);
        IF c_key[i] IS NOT NULL THEN
            INSERT INTO idempotency VALUES
                (c_thread[i], c_account[i], c_key[i], c_hash[i], at_segment, at_first, at_count, at_time)
            ON CONFLICT (thread, account, key) DO UPDATE SET hash = excluded.hash, segment = excluded.segment,
                first = excluded.first, count = excluded.count, time = excluded.time, made = NULL;
        END IF;
        head := h; status := 0; RETURN NEXT;
    END LOOP;
END
$$;
