CREATE OR REPLACE FUNCTION named_owner(agent text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(agent, 'team:') THEN 'team ''' ELSE 'agent ''' END
           || left(regexp_replace(agent, '^team:', ''), 100) || '''';

COMMENT ON FUNCTION named_owner IS
    'Returns the name of an owner for messages: agent ''x'' or team ''x''.';

CREATE OR REPLACE FUNCTION require_found(agent text, memory_id uuid, there boolean) RETURNS void
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN require(there, format('%s has no memory %s', named_owner(agent),
                                 coalesce(memory_id::text, 'NULL')), 'PM003');

COMMENT ON FUNCTION require_found IS
    'Raises PM003 unless the memory exists.';
