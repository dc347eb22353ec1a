"""What proposals, reports and rankings cost, and what stopping early saves."""
