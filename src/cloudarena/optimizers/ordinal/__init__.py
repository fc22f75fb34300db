"""What methods by order stand on: layers, screening, margins, final rules."""
