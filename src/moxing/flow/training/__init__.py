"""How train jobs update their variables: from the losses to the operation of a step."""
