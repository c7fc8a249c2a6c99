CREATE OR REPLACE FUNCTION alias(agent text, alias text, entity text) RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
#variable_conflict use_variable
DECLARE
    named text := name_key(alias);
    is_new bigint;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require(length(one.said) BETWEEN 1 AND @MAX_NAME_LENGTH@, format(
                '%s must have 1 to @MAX_NAME_LENGTH@ characters, got %s', one.name,
                quote_nullable(left(one.said, 60))))
       FROM (VALUES ('alias', coalesce(alias, '')), ('entity', coalesce(entity, '')))
            one(name, said);
    PERFORM require(named <> '', format(
        'alias must have a letter or a digit, got %s', quote_literal(left(alias, 60))));
    INSERT INTO entity_names (agent_id, word, name, kind, entity)
    VALUES (agent, split_part(named, ' ', 1), named, 'alias', entity)
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS is_new = ROW_COUNT;
    RETURN is_new > 0;
END
$verb$;

COMMENT ON FUNCTION alias IS
    'Lets a question call an entity or a subject of an owner''s memories by another name. Returns '
    'false if it could already.';

CREATE OR REPLACE FUNCTION remove_alias(agent text, alias text, entity text DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    named text := name_key(alias);
    removed bigint;
BEGIN
    PERFORM require_owner(agent);
    DELETE FROM entity_names n
     WHERE n.agent_id = agent AND n.word = split_part(named, ' ', 1) AND n.name = named
       AND n.kind = 'alias' AND n.entity = coalesce(remove_alias.entity, n.entity);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$verb$;

COMMENT ON FUNCTION remove_alias IS
    'Removes an alias of one entity, or of all: the number of entities that it stood for.';
