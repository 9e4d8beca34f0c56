"""What results are made of: intervals, and the rows that they keep."""
