import { getRouteApi } from '@tanstack/react-router'
import { changed } from './search'
import { Transfers } from './Transfers'

const deposits = getRouteApi('/pages/deposits')
const withdrawals = getRouteApi('/pages/withdrawals')

export function DepositsPage() {
  const navigate = deposits.useNavigate()
  return (
    <Transfers
      kind="deposit"
      search={deposits.useSearch()}
      onSearch={(changes) => void navigate({ search: (before) => ({ ...before, ...changed(before, changes) }) })}
    />
  )
}

export function WithdrawalsPage() {
  const navigate = withdrawals.useNavigate()
  return (
    <Transfers
      kind="withdrawal"
      search={withdrawals.useSearch()}
      onSearch={(changes) => void navigate({ search: (before) => ({ ...before, ...changed(before, changes) }) })}
    />
  )
}
