"""Makes the update of a train job: from the losses to the operation of a step."""
