import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/** Runs mongo-java-server in memory as MongoDB 6.0. Prints its URL, and ends at the end of its standard input. */
public final class Main {
    private static final MongoVersion MONGO_6_0 = new MongoVersion() {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(6, 0, 0, 0);
        }

        @Override
        public int getWireVersion() {
            return 17;
        }
    };

    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend().version(MONGO_6_0));
        System.out.println("mongodb://127.0.0.1:" + server.bind().getPort() + "/");
        while (System.in.read() != -1) {
        }
        server.shutdownNow();
    }
}
