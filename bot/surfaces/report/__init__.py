"""The report of an incident: made once from the record, drawn as a self-contained page and as Markdown."""
