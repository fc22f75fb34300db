"""What machines cost: bought or rented, by one's own figures or by a list of instance types."""
