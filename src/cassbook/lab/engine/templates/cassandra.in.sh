# ccm rewrites these two lines and will not start a node without them; the launcher needs neither.
CASSANDRA_HOME=
CASSANDRA_CONF=
