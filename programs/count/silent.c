/* A program that accesses no data of its own: there is nothing to report, and that is no error. */

int main(void)
{
    return 0;
}
