"""What annotation tools write: Label Studio, Prodigy, doccano, and the marks of several people."""
