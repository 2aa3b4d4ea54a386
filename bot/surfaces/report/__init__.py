"""The report of one incident: made once of the record, drawn as a page that needs nothing else, and as Markdown."""
