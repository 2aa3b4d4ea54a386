"""A simulated Kubernetes cluster over real HTTP: for the tests and the demo."""
