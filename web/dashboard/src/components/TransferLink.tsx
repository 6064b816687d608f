import { Link } from '@tanstack/react-router'

interface TransferLinkProps {
  readonly trackingId: string
  readonly referenceId: string
}

export function TransferLink({ trackingId, referenceId }: TransferLinkProps) {
  return (
    <Link to="/transfers/$trackingId" params={{ trackingId }}>
      {referenceId}
    </Link>
  )
}
