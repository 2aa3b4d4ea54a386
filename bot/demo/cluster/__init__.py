"""A simulated Kubernetes cluster over real HTTP: the tests' bed, and the demo's."""
