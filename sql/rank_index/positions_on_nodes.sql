-- For maintainers.
CREATE OR REPLACE FUNCTION shard_here(name text, agent text) RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    shard regclass := to_regclass(shard_name(
        name::regclass, get_shard_id_for_distribution_column(name::regclass, agent)));
BEGIN
    IF shard IS NULL THEN
        RAISE EXCEPTION 'the memories of % are on another node: call this in a query about the '
            'owner, or again where they have just moved', left(agent, 100)
            USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN shard;
END
$function$;

COMMENT ON FUNCTION shard_here IS
    'Returns the shard of a distributed table with the rows of this owner; raises '
    'serialization_failure if it is not on this node.';

-- On Citus, an index is on the node of its owner's shard. That node has functions from the
-- coordinator, but only tables that are distributed. So the parent, as the baseline defines it, is
-- created there at its first use.
CREATE OR REPLACE FUNCTION require_parent() RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF to_regclass('rank_positions') IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('pgrecall parent ' || current_schema(), 0));
    EXECUTE format($$
        CREATE TABLE IF NOT EXISTS %1$I.rank_positions (
            memory_id uuid NOT NULL, index_id uuid NOT NULL,
            position @extschema:vector@.halfvec NOT NULL,
            words bigint[] NOT NULL, bytes integer NOT NULL,
            placed boolean NOT NULL DEFAULT false,
            CONSTRAINT pk_rank_positions PRIMARY KEY (memory_id, index_id)
        ) PARTITION BY LIST (index_id);
        CREATE INDEX IF NOT EXISTS ix_rank_positions_words ON %1$I.rank_positions
         USING gin (words) WITH (fastupdate = off);
        ALTER TABLE %1$I.rank_positions ENABLE ROW LEVEL SECURITY $$, current_schema());
END
$function$;

COMMENT ON FUNCTION require_parent IS
    'Creates the parent of tables of positions on a node of Citus that has none yet.';

-- On Citus, a node only uses the indexes of owners whose shards it has. Indexes of a shard that has
-- moved away are left over.
CREATE OR REPLACE FUNCTION positions_in_use() RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    listed regclass;
BEGIN
    IF NOT is_distributed() THEN
        RETURN QUERY
        SELECT unnest(ARRAY[r.relation, used_positions(r.relation)]) FROM rank_indexes r;
        RETURN;
    END IF;
    FOR listed IN SELECT to_regclass(shard_name(s.logicalrelid, s.shardid)) FROM pg_dist_shard s
                    JOIN pg_dist_placement p ON p.shardid = s.shardid
                    JOIN pg_dist_local_group g ON g.groupid = p.groupid
                   WHERE s.logicalrelid = 'rank_indexes'::regclass
                     AND to_regclass(shard_name(s.logicalrelid, s.shardid)) IS NOT NULL LOOP
        RETURN QUERY EXECUTE format(
            'SELECT unnest(ARRAY[r.relation, used_positions(r.relation)]) FROM %s r', listed);
    END LOOP;
END
$function$;

COMMENT ON FUNCTION positions_in_use IS
    'Returns the tables of positions of rank indexes that this node uses.';

-- Positions are derived, so this needs no transaction over several nodes.
CREATE OR REPLACE FUNCTION on_every_node(routine text) RETURNS integer
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    changed integer;
BEGIN
    IF is_distributed() THEN
        RETURN (SELECT coalesce(sum(n.result::integer) FILTER (WHERE n.success), 0)
                  FROM run_command_on_all_nodes(
                      format('SELECT %I.%I()', current_schema(), routine)) n);
    END IF;
    EXECUTE format('SELECT %I.%I()', current_schema(), routine) INTO changed;
    RETURN changed;
END
$function$;

COMMENT ON FUNCTION on_every_node IS
    'Calls a function without arguments that returns an integer, on each node of Citus that can be '
    'reached, or here; returns the sum.';

-- The shard may come back, with positions that lack a change. Without Citus, a table is missing
-- only if an index was replaced or dropped.
CREATE OR REPLACE FUNCTION give_up_positions(agent text, relation text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF is_distributed() THEN
        UPDATE rank_indexes r SET space = 0
         WHERE r.agent_id = agent AND r.relation = give_up_positions.relation AND r.space <> 0;
    END IF;
END
$function$;

COMMENT ON FUNCTION give_up_positions IS
    'Records, on Citus, that searches may not use a rank index until it is built again: its '
    'positions were not there when they had to change.';

-- Citus does not pass settings on. Jobs switch the limits off.
CREATE OR REPLACE FUNCTION share_timeout(agent text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    limits text[] := ARRAY[current_setting('statement_timeout'), current_setting('lock_timeout'),
                           current_setting('transaction_timeout', true)];
BEGIN
    PERFORM restore_limits(limits)
       FROM (SELECT count(*) FROM rank_indexes r WHERE r.agent_id = agent) one_row;
END
$function$;

COMMENT ON FUNCTION share_timeout IS
    'Gives this transaction on the node of the owner the limits of lift_limits that it has here.';
