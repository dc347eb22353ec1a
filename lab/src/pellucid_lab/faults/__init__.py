"""What a study survives: kills, full disks, stopped servers, and records, files and names that somebody has changed."""
