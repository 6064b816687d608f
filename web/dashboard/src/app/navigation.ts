import { useRouter } from '@tanstack/react-router'
import { useSession } from './current-session'

/** What people get to by the navigation and the command palette, in this order. */
const destinations = [
  { to: '/', label: 'shell.overview' },
  { to: '/deposits', label: 'shell.deposits' },
  { to: '/withdrawals', label: 'shell.withdrawals' },
  { to: '/pay', label: 'shell.pay' },
  { to: '/callbacks', label: 'shell.callbacks' },
  { to: '/merchants', label: 'shell.merchants' },
  { to: '/users', label: 'shell.people' },
  { to: '/statement', label: 'shell.statement' },
  { to: '/operations', label: 'shell.operations' },
  { to: '/audit', label: 'shell.audit' },
  { to: '/privacy', label: 'shell.privacy' },
  { to: '/account', label: 'shell.account' },
] as const

/** Those that the user may see. */
export function useDestinations() {
  const { routesByPath } = useRouter()
  const { permissions } = useSession()
  return destinations.filter(({ to }) => {
    const { needs } = routesByPath[to].options.staticData
    return needs === null || permissions.includes(needs)
  })
}
