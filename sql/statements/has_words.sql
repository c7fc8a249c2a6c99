-- True if the text has any word that is not a stop word.
SELECT numnode(pgrecall.word_filter(:text::text)) > 0 AS narrows
