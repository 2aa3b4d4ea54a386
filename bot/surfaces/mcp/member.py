"""MCP as a surface: the people whose assistants ask there, and the kind of incident that they open."""

from __future__ import annotations

from bot.surfaces.member import SurfaceMember

MCP = "mcp"
PATH = "/mcp"  # where it is served by HTTP
SURFACE = SurfaceMember(MCP, "by MCP", has_people=True)
