"""What results are made of: their forms, intervals, and the rows that they keep."""
