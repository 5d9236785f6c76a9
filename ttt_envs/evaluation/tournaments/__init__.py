"""What studies use of processes and of Ray."""
