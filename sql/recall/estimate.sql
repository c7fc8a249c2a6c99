-- For readers.
-- Sizes as measured for 20,000 to 60,000 made-up memories (tests compare them with a real run).
-- Rows are on pages of 8 KiB. Embeddings stay in their row while it fits on a page; texts and their
-- words leave it, compressed, when it has more than 2,032 bytes. A rank index may need whole
-- embeddings where memories lie in topics; this assumes as many axes as one has at most.
CREATE OR REPLACE FUNCTION estimate(
    memories bigint, text_length integer DEFAULT 200, dimensions integer DEFAULT NULL,
    embedding_type text DEFAULT NULL)
    RETURNS TABLE (part text, bytes bigint, seconds float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    d integer := coalesce(estimate.dimensions, embedding_dimensions());
    kind text := coalesce(estimate.embedding_type, (
        SELECT t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
         WHERE a.attrelid = 'agent_memories'::regclass AND a.attname = 'embedding'));
    t integer := text_length;
    embedding integer;
    inner_row integer;
    heap float8;
    toast float8;
    coordinates integer := least(d, @MOST_AXES@);
    n float8 := memories;
    m integer := CASE WHEN memories > @LARGE@ THEN @M_OF_LARGE@ ELSE @M@ END;
    of_index float8;
    total float8 := 0;
    found record;
BEGIN
    PERFORM require_count('memories', memories, 1, 1000000000);
    PERFORM require_count('text_length', t, 1, 1000000);
    PERFORM require_count('dimensions', d, 1, 16000);
    PERFORM require(kind IN ('vector', 'halfvec'), format(
        'embedding_type must be vector or halfvec, got %s', quote_nullable(left(kind, 60))));
    embedding := CASE kind WHEN 'vector' THEN 4 ELSE 2 END * d + 8;
    inner_row := embedding + 480;
    toast := 2.6 * t + 180;
    IF inner_row + 2.2 * t <= 2032 THEN
        inner_row := inner_row + (2.2 * t)::integer;
        toast := 0;
    ELSIF inner_row > 8160 THEN
        inner_row := 500;
        toast := toast + 1.05 * embedding;
    END IF;
    heap := 8192.0 / floor(8168.0 / inner_row);
    of_index := n * (715 + 12.4 * (m - @M@) + 4.5 * coordinates + 1.33 * t);
    FOR found IN
        SELECT * FROM (VALUES
            ('memories', n * (heap + toast)),
            ('their indexes', n * (305 + 0.38 * t)),
            ('counters', n * 170),
            ('history', n * 330),
            ('rank index', of_index)) s(part, bytes) LOOP
        part := found.part;
        bytes := found.bytes;
        total := total + found.bytes;
        RETURN NEXT;
    END LOOP;
    part := 'total';
    bytes := total;
    RETURN NEXT;
    part := 'WAL of storing';
    bytes := n * 2 * (heap + toast + 635 + 0.38 * t);
    seconds := n * 0.0009;
    RETURN NEXT;
    part := 'WAL of the build';
    bytes := of_index;
    seconds := n * 0.0008;
    RETURN NEXT;
    part := 'memory of the build';
    bytes := n * 1.5 * (2 * coordinates + 32 * m + 256);
    seconds := NULL;
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION estimate IS
    'Returns about how many bytes so many memories take, with texts of text_length characters on '
    'average, by default in the dimensions of this schema; the WAL of storing them and of building '
    'their rank index, with the seconds on two cores; and the memory that a build wants.';
