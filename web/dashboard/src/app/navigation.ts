import { useRouter } from '@tanstack/react-router'
import { useSession } from './current-session'

/** The pages in the navigation and the command palette, in this order. */
const destinations = [
  { to: '/', label: 'overview.title' },
  { to: '/deposits', label: 'transfers.deposits' },
  { to: '/withdrawals', label: 'transfers.withdrawals' },
  { to: '/pay', label: 'paying.title' },
  { to: '/callbacks', label: 'callbacks.title' },
  { to: '/merchants', label: 'merchants.title' },
  { to: '/users', label: 'users.title' },
  { to: '/statement', label: 'statement.title' },
  { to: '/operations', label: 'operations.title' },
  { to: '/audit', label: 'audit.title' },
  { to: '/privacy', label: 'privacy.title' },
  { to: '/account', label: 'account.title' },
] as const

/** Returns the pages that the user has access to. */
export function useDestinations() {
  const { routesByPath } = useRouter()
  const { permissions } = useSession()
  return destinations.filter(({ to }) => {
    const { needs } = routesByPath[to].options.staticData
    return needs === null || permissions.includes(needs)
  })
}
