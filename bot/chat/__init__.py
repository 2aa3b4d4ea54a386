"""What is true of any chat: cards, their buttons and dialogs, decisions, who may ask; a surface draws and delivers."""
