/* Run by mongosh, again whenever the stack is started: makes only what is not there. */
const { MONGO_ROOT_PASSWORD, MONGO_TRANSFERD_PASSWORD } = process.env
const deadline = Date.now() + 120_000

function eventually(what, attempt) {
  for (;;) {
    try {
      if (attempt()) return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    if (Date.now() > deadline) throw new Error(`${what} did not come about within two minutes`)
    sleep(1_000)
  }
}

const admin = db.getSiblingDB('admin')
// The health check answers before the root user is made.
eventually('the root user', () => admin.auth('root', MONGO_ROOT_PASSWORD).ok === 1)

function isInitiated() {
  try {
    return rs.status().ok === 1
  } catch (error) {
    if (error.codeName === 'NotYetInitialized') return false
    throw error
  }
}

if (!isInitiated()) {
  const configured = ['mongo1', 'mongo2', 'mongo3'].map((host, _id) => ({ _id, host: `${host}:27017` }))
  eventually('the replica set', () => rs.initiate({ _id: 'rs0', members: configured }).ok === 1)
}

const members = 'mongo1:27017,mongo2:27017,mongo3:27017'
const root = `mongodb://root:${encodeURIComponent(MONGO_ROOT_PASSWORD)}@${members}/?replicaSet=rs0&authSource=admin`
eventually('transferd’s user', () => {
  const transferd = new Mongo(root).getDB('transferd')
  if (transferd.getUser('transferd') === null)
    transferd.createUser({ user: 'transferd', pwd: MONGO_TRANSFERD_PASSWORD, roles: ['readWrite'] })
  return true
})
