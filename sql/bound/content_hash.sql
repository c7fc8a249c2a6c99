-- Texts that differ only in case, white space or Unicode form have the same hash.
-- convert_to is only STABLE, because it depends on the server encoding. Migrations refuse any but
-- UTF8.
CREATE FUNCTION content_hash(content text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to(
        lower(btrim(regexp_replace(normalize(content, NFC), '\s+', ' ', 'g'))), 'UTF8'));

COMMENT ON FUNCTION content_hash(text) IS
    'SHA-256 of the normalised text: NFC, lower case, white space collapsed and trimmed.';
