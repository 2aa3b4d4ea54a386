"""How an approved plan is carried out: each step begun, sent, proved and watched."""
