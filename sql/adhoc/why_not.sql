-- Why is this memory not recalled for these words?
--   psql -v agent=ada -v id=01a223ab-b77d-74ba-b487-c5e3f1785bdf -v words='door' -f why_not.sql
SELECT rank, ranked, round(score::numeric, 3) AS score, reasons, signals
  FROM pgrecall.explain(:'agent', :'id', keywords => :'words');
