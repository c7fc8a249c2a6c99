-- Case, surrounding and repeated white space and the Unicode form do not tell two texts apart.
-- convert_to is only STABLE because it follows the server encoding; migrations refuse any but UTF8.
CREATE FUNCTION content_hash(content text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to(
        lower(btrim(regexp_replace(normalize(content, NFC), '\s+', ' ', 'g'))), 'UTF8'));

COMMENT ON FUNCTION content_hash(text) IS
    'SHA-256 of the normalised text: NFC, lower case, white space collapsed and trimmed.';
