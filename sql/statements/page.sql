-- The first memories behind the page before.
SELECT one.* FROM passing one ORDER BY :order LIMIT :limit::integer
