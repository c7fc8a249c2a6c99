-- Their ids, in order.
SELECT passing.id FROM passing ORDER BY passing.id
