-- For readers.
CREATE OR REPLACE FUNCTION expiry_of_tier(tier text) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT now() + d.expires_after_hours * interval '1 hour' FROM tier_defaults d
             WHERE d.tier = expiry_of_tier.tier);
END
$function$;

COMMENT ON FUNCTION expiry_of_tier IS
    'Returns the expiry of a memory that enters a tier now; NULL if it never expires.';
