"""Jobs for Kubernetes: an Indexed Job, a JobSet or a TFJob, with its network policy and secret."""
