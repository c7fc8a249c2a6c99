SELECT ranked.id FROM ranked
