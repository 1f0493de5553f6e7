"""The families of networks of the zoo, one file each."""
