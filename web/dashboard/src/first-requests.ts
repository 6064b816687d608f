import { apiAddress } from './api/api-address'
import { keepEarly } from './api/early-responses'
import { basePath } from './app/base-path'
import { pageAt, pageFiles } from './app/page-files'
import { initialLanguage, textFiles } from './app/text-files'
import { rangeOf } from './pages/overview/overview-range'

const reloadAfterMs = 3_000

// Requests what the first page needs while the application is being loaded. Each request after it would take another round trip.
const page = pageAt(location.pathname.slice(basePath.length))
const sessionAddress = apiAddress('/session')
const session = fetch(sessionAddress)
keepEarly(sessionAddress, session)
// Browsers keep a failed import, so only a new page can load the application after a lost request.
import('./main').catch(() => setTimeout(() => location.reload(), reloadAfterMs))
const texts = textFiles[initialLanguage()]
texts.first().catch(() => undefined)
if (page !== '/') texts.others().catch(() => undefined)
session.then(({ ok }) => (ok ? undefined : import('./app/SignIn'))).catch(() => undefined)
for (const [name, load] of Object.entries(pageFiles)) if (name === page) load().catch(() => undefined)
if (page === '/') {
  const { from, to, merchantId } = Object.fromEntries(new URLSearchParams(location.search))
  const address = apiAddress('/overview', { ...rangeOf({ from, to }, new Date()), merchantId })
  const overview = session.then(({ ok }) => (ok ? fetch(address) : undefined))
  keepEarly(
    address,
    overview.then((response) => (response?.ok ? response : undefined)),
  )
}
