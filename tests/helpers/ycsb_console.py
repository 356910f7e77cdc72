"""Lines that a console shows around the measurements of YCSB."""

YCSB = """\
YCSB Client 0.1
Command line: -db com.yahoo.ycsb.BasicDB -P w -t
Loading workload...
Starting test.
 (might take a few minutes for large data sets)
 20 sec: 4000 operations; 212.2 current ops/sec; [UPDATE AverageLatency(us)=812.5] [READ AverageLatency(us)=733.1]
 0 sec: 0 operations;
mine 10 sec: 10 operations; 1,01 current ops/sec; [INSERT AverageLatency(us)=99]
2026-11-01 10:00:00:010 10 sec: 90 operations; 9 current ops/sec; est completion in 2 minutes [READ: Count=9, Max=8]
2026-11-01 10:00:20:010 30 sec: 400 operations; 31.5 current ops/sec; est completion in 4 secondsREAD count: 10, aver
Maximum execution time specified as: 90 secs
Maximum time elapsed. Requesting stop for the workload.
Stop requested for workload. Now Joining!
Still waiting for thread Thread-12 to complete. Workload status: false
Could not wait until max specified time, TerminatorThread interrupted.
Data integrity is enabled.
Retrying insertion, retry count: 3
Error inserting, not retrying any more. number of attempts: 4Insertion Retry Limit: 3
Warning: the threadcount is bigger than recordcount, the threadcount will be recordcount!
WARNING: Recomputing Zipfian distribtion. This is slow and should be avoided. (itemcount=9 countforzeta=8)
WARNING: Incrementally recomputing Zipfian distribtion. (itemcount=9 countforzeta=8)
DBWrapper: report latency for each error is false and specific error codes to track for latency are: []
Raw data measurement: will output to stdout.
[WARN] Couldn't read hdrhistogram.percentiles value: 'x', the default of '95,99' will be used.
***************** properties *****************
"threadcount"="4"
READ usertable user12 [ <all fields>]
SCAN usertable user12 100 [ field0 ]
DELETE usertable user12
Connected to cluster: mine
Datacenter: dc1; Host: /127.0.0.1; Rack: r1
Error reading key: user17
Error scanning with startkey: user17
Usage: java site.ycsb.Client [options]
  -threads n: execute using n threads (default: 1) - can also be specified as the
  -load:  run the loading phase of the workload
java -cp /x/conf:/x/lib/core-0.12.0.jar com.yahoo.ycsb.Client -db com.yahoo.ycsb.db.CassandraCQLClient -t
/opt/jdk/bin/java -classpath x.jar site.ycsb.Client -load -db site.ycsb.BasicDB
[WARN]  Running against a source checkout. In order to get our runtime dependencies we'll have to invoke Maven.
[DEBUG]  Running 'mvn -pl site.ycsb:cassandra-binding -am package -DskipTests'
[WARN] YCSB libraries not found.  Attempting to build...
[ERROR] Error trying to build project. Exiting.""".splitlines()


JAVA = """\
OpenJDK 64-Bit Server VM warning: Option UseConcMarkSweepGC was deprecated in version 9.0
Java HotSpot(TM) 64-Bit Server VM warning: ignoring option PermSize
Picked up JAVA_TOOL_OPTIONS: -Xmx2g
openjdk version "11.0.20" 2023-07-18
WARNING: An illegal reflective access operation has occurred
Exception in thread "Thread-4" java.lang.NullPointerException
java.lang.IllegalStateException: closed
com.datastax.driver.core.exceptions.NoHostAvailableException: All host(s) tried for query failed (tried: /10.0.0.1:9042)
\tat com.datastax.driver.core.RequestHandler.reportNoMoreHosts(RequestHandler.java:211)
\tat java.base/java.lang.Thread.run(Thread.java:829)
Caused by: java.net.ConnectException: Connection refused
\t... 3 more
[GC (Allocation Failure)  65536K->1200K(251392K), 0.0021 secs]
[0.004s][warning][gc] -XX:+PrintGC is deprecated
SLF4J: Class path contains multiple SLF4J bindings.
log4j:WARN No appenders could be found for logger (org.x.Y).
[main] INFO com.datastax.driver.core - DataStax Java driver 3.0.0
[Thread-3] INFO site.ycsb.db.CassandraCQLClient - Connected to cluster: ccm
0    [Thread-2] INFO  com.yahoo.ycsb.db.Client -connected
10:00:00.123 [main] DEBUG c.d.driver.core.Cluster - Starting new cluster
2026-11-01 10:00:00,123 WARN  [main] org.x.Y: slow
2026/11/01 10:00:00 INFO  org.x.Y  - up
26/11/01 10:00:00 INFO Client: connecting
Nov 01, 2026 10:00:00 AM com.google.common.Futures log
SEVERE: Caught
[INFO] BUILD SUCCESS
[\x1b[1;34mINFO\x1b[m] Scanning for projects...
[INFO]
Downloading from central: https://repo/x.pom""".splitlines()


CONSOLE = """\
real\t0m7.310s
user\t1m0,400s
real 7.31
3.00user 0.40system 0:07.31elapsed 46%CPU (0avgtext+0avgdata 123456maxresident)k
0inputs+8outputs (0major+12345minor)pagefaults 0swaps
./bin/ycsb run basic -P w  3.00s user 0.40s system 46% cpu 7.310 total
3.000u 0.400s 0:07.31 46.5%\t0+0k 0+0io 0pf+0w
\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:07.31
\tMaximum resident set size (kbytes): 123456
TotalMilliseconds : 7310.5
$ bin/ycsb.sh run cassandra-cql -P workloads/workloada
# bin/ycsb run basic
user@host:~/ycsb-0.17.0$ bin/ycsb load basic
[user@host ycsb]$ time bin/ycsb run basic
root@4f3c:/# ycsb run basic
host:ycsb user$ bin/ycsb run basic
PS C:\\ycsb> bin\\ycsb.bat run basic
C:\\ycsb>java -cp x site.ycsb.Client
+ bin/ycsb run basic
++ date +%s
    -p hosts=10.0.0.1 \\
    -p threadcount=8
java.exe : Command line: -t -db site.ycsb.BasicDB
At line:1 char:1
    + CategoryInfo          : NotSpecified: (Command line: -t:String) [], RemoteException
^C
Killed
java : SLF4J: Class path contains multiple SLF4J bindings.
python : [WARN]  Running against a source checkout.
In Zeile:1 Zeichen:1
In C:\\x\\run.ps1:3 Zeichen:1
At C:\\x\\run.ps1:3 char:1
Au caractère Ligne:1 : 1
En línea: 1 Carácter: 1
+ java -cp x site.ycsb.Client -t 2>&1
+ ~~~~~~~
+ CategoryInfo          : NotSpecified: (SLF4J::String) [], RemoteException
+ FullyQualifiedErrorId : NativeCommandError
Terminate batch job (Y/N)?
Batchvorgang abbrechen (J/N)?
'ycsb' is not recognized as an internal or external command,
operable program or batch file.
bash: ./ycsb: Permission denied
bash: ycsb: command not found
ycsb: command not found
./run.sh: line 3: ycsb: command not found
sh: 1: ycsb: not found
zsh: command not found: ycsb""".splitlines()
