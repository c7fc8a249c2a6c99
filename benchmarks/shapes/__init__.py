"""What this checkout costs beside another one."""
