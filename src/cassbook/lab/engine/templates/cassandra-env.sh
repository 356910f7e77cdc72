# ccm writes the node's own port here.
JMX_PORT="7199"
