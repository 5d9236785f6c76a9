"""How good an agent is: tournaments, ratings, regret, exploitability."""
